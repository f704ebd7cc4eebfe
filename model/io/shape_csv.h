// A table of operator shapes, as `cost --csv` takes it: columns op,m,n,k,dtype,layout for products,
// op,bytes,gpus for collectives and copies, op,rows,cols,dtype for passes,
// op,batch,heads,kv_heads,seq,head_dim,causal for attention,
// op,batch,channels,size,out,kernel,stride, groups for convolutions of square images, padded by
// half the kernel. Other columns are kept as they are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/collective.h"
#include "model/operators.h"

namespace stepsight {

struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t gpus = 0;
  double bytes = 0;
};
struct CopyShape {
  bool to_device = false;
  double bytes = 0;
};
using CostShape = std::variant<Gemm, Attention, Pass, Convolution, CollectiveShape, CopyShape>;

struct ShapeTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // as read
  std::vector<CostShape> shapes;               // one a row
};

// Throws UserError with every mistake of the table (file:line:column).
ShapeTable read_shapes(const std::string& file, std::string_view text);

}  // namespace stepsight
