#include "descriptors.h"

uint8_t descriptor_marks[MOST_MARKED];
