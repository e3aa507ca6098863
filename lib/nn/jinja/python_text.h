#pragma once
// Python's str in UTF-8: positions count code points, spaces and cases are Unicode's. All text is valid UTF-8.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace afore::nn::jinja {

std::size_t code_points(std::string_view text);
// The code point at `at`, which moves behind it.
char32_t next_code_point(std::string_view text, std::size_t& at);
void append_code_point(std::string& text, char32_t code);
std::vector<std::string_view> characters(std::string_view text);  // one by one

bool is_space(char32_t code);
bool is_printable(char32_t code);  // else repr() escapes it

// str.strip(chars), of one side or both; spaces where `chars` is null.
std::string_view strip(std::string_view text, const std::string* chars, bool left, bool right);
std::string_view strip_spaces_right(std::string_view text);

// str.split(separator, max) and rsplit; at runs of spaces where `separator` is null; max < 0: all.
std::vector<std::string_view> split(std::string_view text, const std::string* separator, std::int64_t max);
std::vector<std::string_view> split_right(std::string_view text, const std::string* separator, std::int64_t max);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);        // str.title()
std::string title_words(std::string_view text);  // the filter, which looks at spaces and brackets only

// str.replace(from, to, max); max < 0: all.
std::string replace(std::string_view text, std::string_view from, std::string_view to, std::int64_t max);
// Occurrences that do not overlap, as str.count().
std::size_t count(std::string_view text, std::string_view part);

}  // namespace afore::nn::jinja
