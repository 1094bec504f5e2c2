// exceptions: the tag of exceptions of C++, an address of 32 bits, which zig's libraries lack.
asm(R"(
	.tagtype __cpp_exception i32
	.globl __cpp_exception
__cpp_exception:
)");
