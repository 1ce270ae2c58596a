// What most files include and pay for: compiled once, see refrain_share_headers() in
// RefrainTarget.cmake. It replaces no include: `make lint` builds without it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>
