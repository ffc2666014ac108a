// Precompiled for every test: what the product's files share, and GoogleTest.
#include <gtest/gtest.h>

#include "base/precompiled.h"
