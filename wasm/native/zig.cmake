# A toolchain: clang as the package `ziglang` brings it, for WebAssembly. ZIG is the path of zig.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG)
set(CMAKE_C_COMPILER ${ZIG})
set(CMAKE_C_COMPILER_ARG1 cc)
set(CMAKE_CXX_COMPILER ${ZIG})
set(CMAKE_CXX_COMPILER_ARG1 c++)
# The processor's features by name, because zig leaves out those of -f and -m flags. The exceptions
# of WebAssembly are in every browser and in Node since 2021, threads need headers from the server.
set(wasm_flags
    "-target wasm32-wasi -mcpu=generic+simd128+exception_handling+bulk_memory+nontrapping_fptoint+sign_ext"
    "-fwasm-exceptions -Xclang -exception-model=wasm -mllvm -wasm-enable-eh")
list(JOIN wasm_flags " " wasm_flags)
set(CMAKE_C_FLAGS_INIT "${wasm_flags}")
set(CMAKE_CXX_FLAGS_INIT "${wasm_flags}")
