// Measured points laid over a formula: log(measured / formula) at each point, interpolated between
// the nearest points and fading out away from them. A prediction is the formula times the
// exponential of the residual, so it returns measured points exactly and the formula where nothing
// was measured.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

namespace stepsight {

// How a surface reads what lies between its points.
enum class Interpolation : unsigned char {
  // A plane through the nearest points: for few points of smooth operators.
  plane,
  // The best linear estimate of a field whose correlation is exp(-sum |difference|), plus a scatter
  // that no neighbour shares (simple kriging; Rasmussen and Williams, Gaussian Processes for
  // Machine
  // Learning, 2006, eq. 2.25). For matrix products: the library picks another kernel for a shape a
  // hair away, so that two neighbours' times differ by several percent with no trend to follow, and
  // an average over many of them says more than the nearest. A point asked for itself is still
  // returned exactly.
  average,
};

class SurfaceMemory;

class MeasuredSurface {
 public:
  static constexpr std::size_t max_dimensions = 7;
  using Point = std::array<float, max_dimensions>;  // log2 of sizes, scaled by how fast
                                                    // the residual varies; unused: 0

  struct Sample {
    Point at{};
    float log_residual = 0;
  };

  struct Answer {
    double log_residual = 0;  // 0 far from every point
    double distance = 0;      // to the nearest point, in scaled factors of two; infinite without
    // Inside: the nearest point is within a factor of two and a half in each size or so.
    [[nodiscard]] bool inside() const { return distance <= 1.3; }
  };

  MeasuredSurface() = default;
  explicit MeasuredSurface(std::vector<Sample> samples,
                           Interpolation interpolation = Interpolation::plane);

  // With a memory of earlier queries: the same answer, to the last digit, and sooner near one of
  // them. The surface must outlive the memory.
  [[nodiscard]] Answer at(const Point& query, SurfaceMemory* memory = nullptr) const;
  // The answer to the one of two queries that a point lies nearer to; to the first where both are
  // as near.
  [[nodiscard]] Answer at_nearer(const Point& first,
                                 const Point& second,
                                 SurfaceMemory* memory = nullptr) const;
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] std::size_t size() const { return samples_.size(); }

 private:
  struct Found;
  [[nodiscard]] Found find(const Point& query, SurfaceMemory* memory) const;
  [[nodiscard]] Answer answer(const Found& found) const;
  [[nodiscard]] double off_axis_correlation(const Point& query) const;

  // A tree (model/nearest_samples.h). axes_ are those in which any two points differ.
  std::vector<Sample> samples_;
  std::vector<unsigned char> split_axes_;
  std::vector<std::size_t> axes_;
  Interpolation interpolation_ = Interpolation::plane;
};

// What earlier queries found of their surroundings, on whatever surface. For one thread. The points
// of a sweep lie close to one another: most find the same neighbours as the one before, and need
// only be told how far from each they are.
class SurfaceMemory {
 public:
  // A system of equations among neighbours, solved as far as it does not depend on the query
  // (model/measured_surface.cpp).
  struct Factored {
    static constexpr std::size_t size = 16;
    using Row = std::array<float, size>;
    std::size_t count = 0;  // 0: none yet
    std::array<const MeasuredSurface::Sample*, size> samples{};
    std::array<Row, size> columns{};
    Row residuals{};
  };
  struct Neighbourhood {
    static constexpr std::size_t most_samples = 32;
    const MeasuredSurface::Sample* of = nullptr;  // the first of the surface's samples; null: free
    MeasuredSurface::Point centre{};              // the query it was made for
    float reach = 0;  // every sample of the surface that is nearer to the centre is among these
    std::size_t count = 0;
    std::array<const MeasuredSurface::Sample*, most_samples>
        samples{};  // nearest to the centre first
    Factored factored;
  };

  // Where what is known about a surface near a query is kept, be it about that or about something
  // else.
  Neighbourhood& near(const MeasuredSurface::Sample* surface, const MeasuredSurface::Point& query);

 private:
  std::vector<Neighbourhood> places_;
};

}  // namespace stepsight
