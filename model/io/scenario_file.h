// Scenario files: the question to the simulator as a person writes it (scenarios/README.md lists
// every key). A key with an array stands for several scenarios.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/scenario.h"

namespace stepsight {

// A key given outside the file, as `--gpus 1,2,4,8` gives "gpus": it replaces the key of the file
// (and its rival: batch and global_batch, name and config). A comma separates the values of an
// axis. `flag` is how messages call it.
struct KeyFlag {
  std::string flag;
  std::string key;  // one of scenario_keys()
  std::string value;
};

enum class PointRules { check, ignore };

// What a scenario file says, with its points built one by one when they are asked for: a sweep of a
// million points takes no more memory than one of two. Copies share what was read; each is for one
// thread.
class ScenarioPoints {
 public:
  ScenarioPoints(const ScenarioPoints& other);
  ScenarioPoints(ScenarioPoints&& other) noexcept;
  ~ScenarioPoints();

  [[nodiscard]] std::size_t size() const;
  // As ScenarioFile::points[index].
  Scenario at(std::size_t index);
  [[nodiscard]] const std::string& title() const;
  // As in ScenarioFile.
  [[nodiscard]] const std::vector<std::string>& axes() const;
  [[nodiscard]] const std::vector<std::vector<std::string>>& axis_values() const;
  // Where point `index` stands on each axis.
  [[nodiscard]] std::vector<std::size_t> coordinates(std::size_t index) const;
  // The values of a key as they were written, one or several; empty when it was not given.
  [[nodiscard]] std::vector<std::string> given(std::string_view key) const;
  // UserError with what at() has found wrong so far (links, price lists).
  void throw_mistakes() const;

 private:
  struct Inside;
  explicit ScenarioPoints(std::unique_ptr<Inside> inside);
  friend ScenarioPoints read_scenario_points_text(const std::string& file,
                                                  std::string_view text,
                                                  std::span<const KeyFlag> flags,
                                                  PointRules rules);
  std::unique_ptr<Inside> inside_;
};

struct ScenarioFile {
  std::string title;
  // Keys that were given as arrays, in order of appearance, and the values as they were written.
  // The points are their product with the first axis slowest; one point when there is no axis.
  std::vector<std::string> axes;
  std::vector<std::vector<std::string>> axis_values;  // [axis][index]
  std::vector<Scenario> points;  // complete: seq and batch are never left to a default
};

// Of a ScenarioFile, which holds them all, and of ScenarioPoints.
inline constexpr std::size_t most_points = 1000000;
inline constexpr std::size_t most_lazy_points = 10000000;

// Reads a scenario file (at most 1 MB). Throws UserError with everything that is wrong, a line
// each: file:line:column and what was expected; flags as "--gpus: ...".
ScenarioFile read_scenario(const std::string& path, std::span<const KeyFlag> flags = {});

// The same from a text; `file` is for messages, and `config` paths start at its folder.
ScenarioFile read_scenario_text(const std::string& file,
                                std::string_view text,
                                std::span<const KeyFlag> flags = {});

// A scenario from flags alone.
ScenarioFile scenario_from_flags(std::span<const KeyFlag> flags);

// The same without holding the points. Every point is checked, as far as the first mistakes, before
// this returns; with PointRules::ignore none is, for those who make other points of them.
ScenarioPoints read_scenario_points(const std::string& path,
                                    std::span<const KeyFlag> flags = {},
                                    PointRules rules = PointRules::check);
ScenarioPoints read_scenario_points_text(const std::string& file,
                                         std::string_view text,
                                         std::span<const KeyFlag> flags = {},
                                         PointRules rules = PointRules::check);

// Where point `index` stands on each axis.
std::vector<std::size_t> coordinates(const ScenarioFile& file, std::size_t index);

}  // namespace stepsight
