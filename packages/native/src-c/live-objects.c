#include "live-objects.h"

atomic_int live_objects;
