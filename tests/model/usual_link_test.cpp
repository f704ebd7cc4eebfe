#include "model/usual_link.h"

#include "model/link_class.h"
#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("cards are joined by what their generation has") {
  CHECK(usual_link("rtx-3090", "pcie", 0) == "pcie4-x16-nop2p");
  CHECK(usual_link("rtx-a6000", "pcie", 0) == "pcie4-x16-p2p");
  CHECK(usual_link("quadro-rtx-8000", "nvlink-pairs", 0) == "nvlink2-bridge-pcie3-x16-p2p-phb");
  CHECK(usual_link("l40s", "pcie", 0) == "pcie4-x16-p2p-pxb");
  CHECK(usual_link("v100-sxm", "nvlink-mesh", 0) == "nvlink2-mesh");
  CHECK(usual_link("h100-sxm-500w", "nvlink-mesh", 0) == "nvlink4-nvswitch");
  CHECK(usual_link("b200-sxm", "nvswitch", 0) == "nvlink5-nvswitch");
  CHECK(usual_link("a100-sxm-80", "nvswitch", 1600) == "nvlink3-nvswitch+8x200G-ib");
  CHECK(usual_link("a100-sxm-80", "nvswitch", 400, 4, "opa") == "nvlink3-nvswitch+4x100G-opa");
  // A card without NVLink cannot hang on an NVSwitch.
  CHECK(usual_link("rtx-4090", "nvswitch", 0) == "pcie4-x16-nop2p");
  CHECK(usual_link("a-new-card", "pcie", 0) == "pcie4-x16-p2p-pxb");
  CHECK(usual_link("h200-sxm", "loopback:2", 0) == "loopback:2");
  CHECK(usual_link("h200-sxm", "", 0).empty());
}

TEST_CASE("every usual link is a link class") {
  for (const char* card : {"p100",
                           "gtx-1080-ti",
                           "v100-sxm",
                           "rtx-2080-ti",
                           "a100-sxm-80",
                           "rtx-3090",
                           "rtx-4090",
                           "h100-sxm",
                           "b200-sxm",
                           "gb200",
                           "l40s",
                           "unknown"}) {
    for (const char* kind : {"nvswitch", "nvlink-mesh", "nvlink-pairs", "pcie"}) {
      for (const double network : {0.0, 3200.0}) {
        INFO(usual_link(card, kind, network));
        CHECK(parse_link_class(usual_link(card, kind, network)));
      }
    }
  }
}
