// What every reader of pasted logs needs: colours and prefixes taken off, words, units.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepsight {

// Without ANSI escape sequences and carriage returns ("\r" ends a line where no "\n" follows).
std::string without_ansi(std::string_view text);

// A line without what launchers put in front: "[1,0]<stdout>:", "gpu-a: ", "0: ", "[default7]:",
// "[rank3]:", "#", a time stamp as Kubernetes writes it.
std::string_view without_prefix(std::string_view line);

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// Words between blanks.
std::vector<std::string_view> tokens_of(std::string_view line);

// A whole token as a finite number ("42.56", "1.2e+06"); nothing for "N/A".
std::optional<double> number_of(std::string_view token);
// "32KiB", "16GiB", "4.0GB", "512 MB", "128 B": KiB and the like are powers of 1024, KB of 1000.
std::optional<double> bytes_of(std::string_view text);
// "482.26GBps", "3596.1 Gbps", "91.4 GB/s", in GB/s.
std::optional<double> gigabytes_per_second_of(std::string_view text);

}  // namespace stepsight
