// Tables of operator shapes for `cost --csv`.
#include "model/io/shape_csv.h"

#include "model/errors.h"
#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("a table of shapes reads every kind of operator and keeps its other columns") {
  const ShapeTable t = read_shapes("t.csv",
                                   "op,m,n,k,batch,dtype,bytes,gpus,who\n"
                                   "gemm,8,16,32,4,fp16,,,\"a,b\"\n"
                                   "all_reduce,,,,,,1000,8,c\n"
                                   "gelu,,,,,bf16,2000,,d\n");
  REQUIRE(t.shapes.size() == 3);
  const auto& gemm = std::get<Gemm>(t.shapes[0]);
  CHECK(gemm.batch == 4);
  CHECK(gemm.dtype == Dtype::fp16);
  CHECK(t.rows[0].back() == "a,b");
  CHECK(std::get<CollectiveShape>(t.shapes[1]).gpus == 8);
  CHECK(std::get<Pass>(t.shapes[2]).cols == 1000);
}

TEST_CASE("a causal mask may be said in any usual word and in no other") {
  const auto causal = [](const std::string& word) {
    const ShapeTable t = read_shapes(
        "t.csv", "op,batch,heads,seq,head_dim,causal\nattention,1,8,128,64," + word + "\n");
    return std::get<Attention>(t.shapes.front()).causal;
  };
  for (const char* word : {"yes", "true", "1", ""}) CHECK(causal(word));
  for (const char* word : {"no", "false", "0"}) CHECK_FALSE(causal(word));
  CHECK_THROWS_AS(causal("maybe"), UserError);
}

TEST_CASE("a row that lacks what its operator needs is an error with its place") {
  CHECK_THROWS_AS(read_shapes("t.csv", "op,m,n\ngemm,1,2\n"), UserError);
  CHECK_THROWS_AS(read_shapes("t.csv", "op,bytes\nconvolve,1\n"), UserError);
  CHECK_THROWS_AS(read_shapes("t.csv", "op,bytes\nall_reduce,-4\n"), UserError);
}
