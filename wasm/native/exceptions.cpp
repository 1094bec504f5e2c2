// exceptions: the tag of exceptions of C++, an address of 32 bits, which zig's libraries lack.
asm(R"(
	.tagtype __cpp_exception i32
	.globl __cpp_exception
__cpp_exception:
)");

// The only thread never ends, so nothing is to be done at its end.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) noexcept {
    return 0;
}
