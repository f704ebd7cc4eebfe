#include "reports/document.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "reports/html_page.h"
#include "reports/svg_chart.h"
#include "tests/catch2.h"

namespace stepsight {

namespace {

const std::string nasty = "<script>alert(1)</script>";

// Every place that a person's text can come to stand in.
Document nasty_document() {
  Document d;
  d.kind = "scenario";
  d.title = d.question = d.verdict = nasty;
  Section s{"part", nasty, {}};
  s.blocks.emplace_back(Paragraph{nasty});
  s.blocks.emplace_back(DocTable{
      "t", nasty, {{"name", nasty, false}, {"v", nasty, true}}, {{nasty, Cell{nasty, 1.5}}}});
  Chart chart{.id = "c",
              .title = nasty,
              .kind = ChartKind::bars,
              .x_title = nasty,
              .y_title = nasty,
              .unit = "s",
              .categories = {nasty, "b"},
              .x = {1, 2},
              .series = {},
              .labels = {nasty, "b"}};
  chart.series.push_back({"k", nasty, {1.0, 2.0}, {}, {}, false});
  for (const ChartKind kind :
       {ChartKind::bars, ChartKind::waterfall, ChartKind::lines, ChartKind::scatter}) {
    chart.kind = kind;
    chart.id += "x";
    s.blocks.emplace_back(chart);
  }
  s.blocks.emplace_back(Code{"code", nasty + "\n```\n" + nasty});
  s.blocks.emplace_back(Picture{"p", nasty, "<svg></svg>", {{"forward", nasty}}});
  d.sections.push_back(std::move(s));
  return d;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a name that looks like a script stays text in the sections of a page") {
  const std::string html = document_html(nasty_document());
  // The charts' own data elements, and no other.
  CHECK(count(html, "<script") == 4);
  CHECK(count(html, "<script type=\"application/json\">") == 4);
  CHECK(count(html, "</script") == 4);
  CHECK(html.find("&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
}

TEST_CASE("neither a scenario nor a library can end the script that a page puts it in") {
  const Document d = nasty_document();
  PageAssets assets;
  assets.chart_library = "/* </script><b>library</b> <!-- */";
  WhatIf w;
  w.controls.push_back({"gpus", nasty, {{nasty, {}}, {"2", {{nasty, nasty}}}}, 0});
  w.scenario_file = w.data_folder = nasty;
  w.keys = {{"name", nasty}};
  w.files = {{nasty, nasty}};
  w.program = "var x = '</script>';";
  w.code = "H4sI";
  assets.what_if = w;
  const std::string page = html_page(d, assets, Words("en"));
  CHECK(count(page, "<script>alert") == 0);
  CHECK(count(page, "<script") == count(page, "</script"));
  CHECK(page.find("<b>library</b>") > page.find("<\\/script"));
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page == html_page(d, assets, Words("en")));
}

TEST_CASE("Markdown of nasty names has no markup of theirs, and code cannot leave its fence") {
  const std::string text = document_markdown(nasty_document());
  // Within the fence it is text as it is: two lines of it.
  CHECK(count(text, "<script>") == 2);
  CHECK(count(text, "````") == 2);
}

TEST_CASE("the JSON of a document gives every text and figure back") {
  const auto json = nlohmann::json::parse(document_json(nasty_document()));
  CHECK(json["title"] == nasty);
  const auto& section = json["sections"][0];
  CHECK(section["text"][0] == nasty);
  CHECK(section["tables"][0]["rows"][0]["name"] == nasty);
  CHECK(section["tables"][0]["rows"][0]["v"] == 1.5);
  CHECK(section["charts"].size() == 4);
  CHECK(section["charts"][0]["series"][0]["values"][1] == 2.0);
  CHECK(section["code"][0]["id"] == "code");
}

TEST_CASE("a figure that does not exist is null in JSON, never NaN") {
  Document d;
  d.sections.push_back(
      {"s", "s", {DocTable{"t", "", {{"v", "v", true}}, {{Cell{"-", NAN}}, {Cell{""}}}}}});
  const auto json = nlohmann::json::parse(document_json(d));
  CHECK(json["sections"][0]["tables"][0]["rows"][0]["v"].is_null());
  CHECK(json["sections"][0]["tables"][0]["rows"][1]["v"].is_null());
}

TEST_CASE("pictures of charts without a figure, or with one, are whole") {
  for (const ChartKind kind :
       {ChartKind::bars, ChartKind::waterfall, ChartKind::lines, ChartKind::scatter}) {
    Chart c{.id = "c",
            .title = "t",
            .kind = kind,
            .x_title = "",
            .y_title = "",
            .unit = "s",
            .categories = {},
            .x = {},
            .series = {{"k", "k", {}, {}, {}, false}},
            .labels = {}};
    for (int points = 0; points < 2; ++points) {
      const std::string svg = chart_svg(c);
      CHECK(svg.starts_with("<svg"));
      CHECK(svg.ends_with("</svg>"));
      CHECK(svg.find("nan") == std::string::npos);
      CHECK(svg.find("inf") == std::string::npos);
      c.categories.emplace_back("a");
      c.x.push_back(1);
      c.series[0].values.emplace_back(0.0);
    }
  }
}

}  // namespace stepsight
