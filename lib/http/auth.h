#pragma once
// The token that requests show.
#include <string>
#include <string_view>

namespace afore::http {

// Whether `authorization`, a field's value, is "Bearer TOKEN". Takes the same time however much of it is right.
bool bears_token(std::string_view authorization, const std::string& token);

}  // namespace afore::http
