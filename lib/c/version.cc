#include "c/afore.h"
