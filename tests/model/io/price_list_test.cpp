#include "model/io/price_list.h"

#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/scenario_file.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

constexpr const char* head = "title = \"t\"\ndate = \"2026-01\"\n";

TEST_CASE("a card's own prices go before those of the list, the scenario's before both") {
  const PriceList list = read_price_list_text(
      "p.toml",
      std::string(head) +
          "years = 5\nrent_per_gpu_hour = 1\n[gpus.x]\nrent_per_gpu_hour = 2\ngpu_price = 7\n");
  Prices other;
  complete_prices(other, list, "y");
  CHECK(*other.rent_per_gpu_hour == 1);
  CHECK_FALSE(other.gpu_price.has_value());
  CHECK(other.list_title == "t (2026-01)");
  Prices x;
  x.gpu_price = 9;
  complete_prices(x, list, "x");
  CHECK(*x.rent_per_gpu_hour == 2);
  CHECK(*x.gpu_price == 9);
  CHECK(*x.years == 5);
}

TEST_CASE("a price list says what is wrong with it, and where") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      read_price_list_text("p.toml", text);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message(std::string(head)).empty());
  CHECK(message("date = \"x\"\n").find("missing key 'title'") != std::string::npos);
  CHECK(message(std::string(head) + "rent_per_gpu_hour = -1\n").find("p.toml:3:") == 0);
  CHECK(message(std::string(head) + "[gpus.x]\nrent_per_gpu = 1\n").find("rent_per_gpu_hour") !=
        std::string::npos);
  CHECK(message(std::string(head) + "[gpus.x]\ngpu_price = nan\n").find("p.toml:4:") == 0);
}

TEST_CASE("every price list that ships is dated, says that it is an example, and knows its cards") {
  for (const std::string_view name : builtin_names("prices")) {
    INFO(name);
    const PriceList list = read_price_list(std::string(name));
    CHECK(list.title.find("example") != std::string::npos);
    CHECK(list.date.size() >= 7);
    for (const auto& [gpu, prices] : list.gpus) {
      INFO(gpu);
      CHECK(builtin_file("gpus/" + gpu + ".toml").has_value());
      CHECK(prices.any());
    }
  }
}

TEST_CASE("a scenario's prices are completed from the list that it names") {
  const ScenarioFile file = read_scenario_text(
      "s.toml",
      "[model]\nname = \"gpt2-124m\"\n[cluster]\ngpu = [\"h100-sxm\", \"a100-sxm-80\"]\n"
      "[cost]\nprices = \"example-2026\"\nyears = 7\n");
  REQUIRE(file.points.size() == 2);
  const PriceList list = read_price_list("example-2026");
  CHECK(file.points[0].cost.rent_per_gpu_hour == list.gpus.at("h100-sxm").rent_per_gpu_hour);
  CHECK(file.points[1].cost.rent_per_gpu_hour == list.gpus.at("a100-sxm-80").rent_per_gpu_hour);
  CHECK(*file.points[0].cost.years == 7);
  CHECK_THROWS_AS(read_scenario_text("s.toml",
                                     "[model]\nname = \"gpt2-124m\"\n[cluster]\ngpu = "
                                     "\"h100-sxm\"\n[cost]\nprices = \"no-such-list\"\n"),
                  UserError);
}

TEST_CASE("machines follow from the GPUs of a full one") {
  const ScenarioFile file = read_scenario_text(
      "s.toml",
      "[model]\nname = \"gpt2-124m\"\n[cluster]\ngpu = \"h100-sxm\"\ngpus = [4, 8, 32]\n"
      "gpus_per_node = 8\nlink = \"nvlink4-nvswitch+8x400G-ib\"\n");
  REQUIRE(file.points.size() == 3);
  CHECK(file.points[0].cluster.nodes == 1);
  CHECK(file.points[1].cluster.nodes == 1);
  CHECK(file.points[2].cluster.nodes == 4);
  CHECK_THROWS_AS(
      read_scenario_text("s.toml",
                         "[model]\nname = \"gpt2-124m\"\n[cluster]\ngpu = \"h100-sxm\"\ngpus = 12\n"
                         "gpus_per_node = 8\nlink = \"nvlink4-nvswitch+8x400G-ib\"\n"),
      UserError);
}

}  // namespace
}  // namespace stepsight
