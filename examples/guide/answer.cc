#include <brig/runner.h>
#include <iostream>
int main() { std::cout << brig::run(brig::Command::shell("echo $((6 * 7))")).out.bytes; }
