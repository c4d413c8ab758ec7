#include "../cell/embedded_image.S"
