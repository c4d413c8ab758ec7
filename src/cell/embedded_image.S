// The bytes of a program (brig-helper, brig-loader), as read-only data of the program or library
// that links this. brig runs them from a memfd, so brig is one file, and nobody can swap a path
// under it.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define BEGIN JOIN(BRIG_IMAGE, _begin)
#define END JOIN(BRIG_IMAGE, _end)

    .section .rodata
    .balign 16
    .global BEGIN
    .hidden BEGIN
    .type BEGIN, %object
BEGIN:
    .incbin BRIG_IMAGE_FILE
    .size BEGIN, . - BEGIN
    .global END
    .hidden END
END:
    .byte 0

    .section .note.GNU-stack, "", %progbits
