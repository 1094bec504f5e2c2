// BLAKE2b (RFC 7693) without a key, for the hash of a tokenizer.
//
// A word of 64 bits is two neighbours in a Uint32Array, the low half first. The last block is
// compressed with another flag, so a full block waits until more follows.

const BLOCK = 128;
const INITIAL = Uint32Array.of(
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
);
// The order of the words of a message in each round; the first two come again at the end.
const ORDERS = [
  "0123456789abcdef",
  "ea489fd61c02b753",
  "b8c052fdae367194",
  "7931dcbe265a40f8",
  "905724afe1bc683d",
  "2c6a0b834d75fe19",
  "c51fed4a0763928b",
  "db7ec13950f4862a",
  "6fe9b308c2d714a5",
  "a2847615fb9e3cd0",
  "0123456789abcdef",
  "ea489fd61c02b753",
].map((row) => Uint8Array.from(row, (digit) => 2 * parseInt(digit, 16)));

/** A hash of bytes that come one after the other. */
export class Blake2b {
  private readonly state = INITIAL.slice();
  private readonly words = new Uint32Array(32);
  private readonly message = new Uint32Array(32);
  private readonly block = new Uint8Array(BLOCK);
  private held = 0;
  private count = 0;

  constructor(private readonly size: number) {
    this.state[0]! ^= 0x0101_0000 ^ size;
  }

  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.held === BLOCK) this.compress(false);
      const taken = Math.min(BLOCK - this.held, bytes.length - at);
      this.block.set(bytes.subarray(at, at + taken), this.held);
      this.held += taken;
      at += taken;
    }
  }

  /** Return the digest in hexadecimal digits; the hash is used up. */
  hexDigest(): string {
    this.block.fill(0, this.held);
    this.compress(true);
    let digest = "";
    for (let i = 0; i < this.size; i += 1) {
      const byte = (this.state[i >> 2]! >>> (8 * (i & 3))) & 0xff;
      digest += byte.toString(16).padStart(2, "0");
    }
    return digest;
  }

  private compress(isLast: boolean): void {
    const { state, words, message, block } = this;
    this.count += this.held;
    this.held = 0;
    for (let i = 0; i < 32; i += 1) {
      const at = 4 * i;
      message[i] =
        block[at]! | (block[at + 1]! << 8) | (block[at + 2]! << 16) | (block[at + 3]! << 24);
    }
    words.set(state);
    words.set(INITIAL, 16);
    words[24]! ^= this.count;
    words[25]! ^= Math.floor(this.count / 2 ** 32);
    if (isLast) {
      words[28]! ^= 0xffff_ffff;
      words[29]! ^= 0xffff_ffff;
    }
    for (const order of ORDERS) round(words, message, order);
    for (let i = 0; i < 16; i += 1) state[i]! ^= words[i]! ^ words[i + 16]!;
  }
}

function round(v: Uint32Array, m: Uint32Array, order: Uint8Array): void {
  mix(v, m, 0, 8, 16, 24, order[0]!, order[1]!);
  mix(v, m, 2, 10, 18, 26, order[2]!, order[3]!);
  mix(v, m, 4, 12, 20, 28, order[4]!, order[5]!);
  mix(v, m, 6, 14, 22, 30, order[6]!, order[7]!);
  mix(v, m, 0, 10, 20, 30, order[8]!, order[9]!);
  mix(v, m, 2, 12, 22, 24, order[10]!, order[11]!);
  mix(v, m, 4, 14, 16, 26, order[12]!, order[13]!);
  mix(v, m, 6, 8, 18, 28, order[14]!, order[15]!);
}

/** Mix four words with two of the message; halves are read once and written once. */
function mix(
  v: Uint32Array,
  m: Uint32Array,
  a: number,
  b: number,
  c: number,
  d: number,
  x: number,
  y: number,
): void {
  let bl = v[b]!;
  let bh = v[b + 1]!;
  // a = a + b + message; a sum of halves is below 2^53, so the carry is what is above 2^32.
  let sum = v[a]! + bl + m[x]!;
  let al = sum >>> 0;
  let ah = (v[a + 1]! + bh + m[x + 1]! + Math.floor(sum / 2 ** 32)) >>> 0;
  // d = (d ^ a) turned right by 32
  let dl = (v[d + 1]! ^ ah) >>> 0;
  let dh = (v[d]! ^ al) >>> 0;
  sum = v[c]! + dl;
  let cl = sum >>> 0;
  let ch = (v[c + 1]! + dh + (sum > 0xffff_ffff ? 1 : 0)) >>> 0;
  // b = (b ^ c) turned right by 24
  let low = bl ^ cl;
  let high = bh ^ ch;
  bl = ((low >>> 24) | (high << 8)) >>> 0;
  bh = ((high >>> 24) | (low << 8)) >>> 0;
  sum = al + bl + m[y]!;
  al = sum >>> 0;
  ah = (ah + bh + m[y + 1]! + Math.floor(sum / 2 ** 32)) >>> 0;
  // d = (d ^ a) turned right by 16
  low = dl ^ al;
  high = dh ^ ah;
  dl = ((low >>> 16) | (high << 16)) >>> 0;
  dh = ((high >>> 16) | (low << 16)) >>> 0;
  sum = cl + dl;
  cl = sum >>> 0;
  ch = (ch + dh + (sum > 0xffff_ffff ? 1 : 0)) >>> 0;
  // b = (b ^ c) turned right by 63
  low = bl ^ cl;
  high = bh ^ ch;
  v[a] = al;
  v[a + 1] = ah;
  v[b] = (low << 1) | (high >>> 31);
  v[b + 1] = (high << 1) | (low >>> 31);
  v[c] = cl;
  v[c + 1] = ch;
  v[d] = dl;
  v[d + 1] = dh;
}
