// The WebAssembly module: one instance for the whole program, made at the first call.
import { TokenmillError } from "./errors.js";
import { Native } from "./native.js";
import type { NativeExports } from "./native.js";

/** Where the module can come from. */
export type WasmSource = string | URL | Response | ArrayBuffer | Uint8Array | WebAssembly.Module;

let source: WasmSource | undefined;
let instance: Promise<Native> | undefined;
let loaded: Native | undefined;

/**
 * Say where `tokenmill.wasm` is, before the first tokenizer is loaded. Needed only where it is not
 * next to this file, as after some bundlers.
 */
export function useWasm(place: WasmSource): void {
  if (instance !== undefined) {
    const hint = "call useWasm before Tokenizer.load";
    throw new TokenmillError("BadArgument", `useWasm: the module is loaded already; hint: ${hint}`);
  }
  source = place;
}

/** The module, loaded once; a failure is forgotten, so that another call may try again. */
export function loadNative(): Promise<Native> {
  instance ??= instantiate().catch((error: unknown) => {
    instance = undefined;
    throw error;
  });
  return instance;
}

/** Bytes of the module's memory, which grows as it needs more and never shrinks. */
export function moduleMemory(): number {
  return loaded === undefined ? 0 : loaded.bytes.length;
}

async function instantiate(): Promise<Native> {
  const module = await compiledModule(source ?? new URL("./tokenmill.wasm", import.meta.url));
  const system = new WasiSystem();
  const made = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system.imports });
  const exports = made.exports as unknown as NativeExports;
  system.memory = exports.memory;
  exports._initialize();
  loaded = new Native(exports);
  return loaded;
}

// What the module asks its system for: an empty environment and a clock. The rest are functions of
// the C library that nothing calls.
class WasiSystem {
  memory: WebAssembly.Memory | undefined;

  readonly imports: WebAssembly.ModuleImports = {
    environ_sizes_get: (count: number, size: number) => this.#write(count, 0, size, 0),
    environ_get: () => 0,
    clock_time_get: (_clock: number, _precision: bigint, at: number) => {
      const nanoseconds = BigInt(Math.round(performance.now() * 1e6));
      return this.#write(at, Number(nanoseconds & 0xffff_ffffn), at + 4, Number(nanoseconds >> 32n));
    },
    proc_exit: () => {
      throw new TokenmillError("Internal", "the module ended itself; please report it");
    },
    fd_write: () => NO_FILES,
    fd_close: () => NO_FILES,
    fd_seek: () => NO_FILES,
  };

  #write(first: number, one: number, second: number, other: number): number {
    if (this.memory === undefined) return NO_FILES;
    const view = new DataView(this.memory.buffer);
    view.setUint32(first, one, true);
    view.setUint32(second, other, true);
    return 0;
  }
}
const NO_FILES = 52; // ENOSYS

async function compiledModule(place: WasmSource): Promise<WebAssembly.Module> {
  if (place instanceof WebAssembly.Module) return place;
  if (place instanceof ArrayBuffer || place instanceof Uint8Array) {
    return WebAssembly.compile(place as BufferSource);
  }
  return WebAssembly.compile((await bytesOf(place)) as BufferSource);
}

/** The bytes at an address, in a file of Node, or in a response. */
export async function bytesOf(place: string | URL | Response): Promise<Uint8Array> {
  if (typeof Response !== "undefined" && place instanceof Response) return bodyOf(place);
  const where = place as string | URL;
  const path = isNode() ? pathOf(where) : null;
  if (path === null) return bodyOf(await fetched(where));
  const name = "node:fs/promises"; // not for bundlers
  const files = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
    readFile(path: string | URL): Promise<Uint8Array>;
  };
  try {
    return await files.readFile(path);
  } catch (error) {
    throw new TokenmillError("NoSuchFile", `${String(where)}: ${(error as Error).message}`);
  }
}

function isNode(): boolean {
  const host = globalThis as { process?: { versions?: { node?: string } } };
  return host.process?.versions?.node !== undefined;
}

// A path or a file: URL; null for an address of the network.
function pathOf(place: string | URL): string | URL | null {
  if (place instanceof URL) return place.protocol === "file:" ? place : null;
  if (/^file:/i.test(place)) return new URL(place);
  return /^(https?|data|blob):/i.test(place) ? null : place;
}

async function fetched(place: string | URL): Promise<Response> {
  try {
    return await fetch(place);
  } catch (error) {
    throw new TokenmillError("NoSuchFile", `${String(place)}: ${(error as Error).message}`);
  }
}

async function bodyOf(response: Response): Promise<Uint8Array> {
  if (!response.ok) {
    const status = `${response.status} ${response.statusText}`.trim();
    throw new TokenmillError("NoSuchFile", `${response.url}: the server answered ${status}`);
  }
  return new Uint8Array(await response.arrayBuffer());
}
