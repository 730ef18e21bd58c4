// A stub of rclcpp's logging, for tests alone: see chainable_controller_interface.hpp beside it.
#pragma once
#include <cstdio>
#define RCLCPP_ERROR(logger, ...) ((void)(logger), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
