#pragma once
#include "robot.h"
