// Columns of a terminal that texts take: ideographs and other wide characters take two.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace stepsight {

// Wide are the blocks whose characters Unicode Standard Annex 11 calls W or F; a byte that belongs
// to no UTF-8 takes one column.
std::size_t text_width(std::string_view text);

// As much of the text's beginning as `columns` hold, whole characters only.
std::string cut(std::string_view text, std::size_t columns);

// Breaks a text into lines of at most `room` columns: at its blanks, and between ideographs, but
// never before the punctuation that ends a clause. A longer word stays whole.
std::string wrap(std::string_view text, std::size_t room = 80);

}  // namespace stepsight
