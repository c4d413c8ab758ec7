#include <brig/brig.h>
#include <cstdio>
int main() { std::fputs(brig::run(brig::Command::shell("echo $((6 * 7))")).out.bytes.c_str(), stdout); }
