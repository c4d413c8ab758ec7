// The bytes of brig-helper, an ELF program, as read-only data of whatever links brig_cell: the
// helper is run from a memfd, so brig is one file and no path can be swapped under it.

    .section .rodata
    .balign 16
    .global brig_helper_begin
    .hidden brig_helper_begin
    .type brig_helper_begin, %object
brig_helper_begin:
    .incbin BRIG_HELPER_FILE
    .size brig_helper_begin, . - brig_helper_begin
    .global brig_helper_end
    .hidden brig_helper_end
brig_helper_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
