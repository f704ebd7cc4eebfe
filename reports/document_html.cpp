#include <fmt/format.h>

#include "reports/chart_json.h"
#include "reports/document.h"
#include "reports/escape.h"
#include "reports/svg_chart.h"

namespace stepsight {

namespace {

std::string table_html(const DocTable& table) {
  std::string out = "<div class=\"scroll\"><table id=\"" + html_text(table.id) + "\">";
  if (!table.title.empty()) out += "<caption>" + html_text(table.title) + "</caption>";
  out += "<thead><tr>";
  for (const DocTable::Column& c : table.columns) {
    out += fmt::format(
        "<th scope=\"col\"{}>{}</th>", c.number ? " class=\"n\"" : "", html_text(c.title));
  }
  out += "</tr></thead>\n<tbody>";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool number = c < table.columns.size() && table.columns[c].number;
      const char* tag = c == 0 ? "th" : "td";
      out += fmt::format("<{}{}{}>{}</{}>",
                         tag,
                         c == 0 ? " scope=\"row\"" : "",
                         number ? " class=\"n\"" : "",
                         html_text(row[c].text),
                         tag);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string chart_html(const Chart& chart) {
  return fmt::format(
      "<figure class=\"chart\" id=\"{}\"><figcaption>{}</figcaption><div class=\"plot {}\">{}</div>"
      "<script type=\"application/json\">{}</script></figure>\n",
      html_text(chart.id),
      html_text(chart.title),
      chart.kind == ChartKind::scatter ? "square" : "wide",
      chart_svg(chart),
      chart_json(chart));
}

std::string picture_html(const Picture& picture) {
  std::string legend;
  for (const auto& [kind, meaning] : picture.legend) {
    legend += fmt::format(
        "<span><svg class=\"swatch\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"{}\" "
        "width=\"12\" "
        "height=\"12\"/></svg>{}</span> ",
        html_text(kind),
        html_text(meaning));
  }
  if (!legend.empty()) legend = "<p class=\"legend\">" + legend + "</p>";
  return fmt::format(
      "<figure id=\"{}\"><figcaption>{}</figcaption><div class=\"plot "
      "scroll\">{}</div>{}</figure>\n",
      html_text(picture.id),
      html_text(picture.description),
      picture.svg,
      legend);
}

// Tables behind a chart stay folded: the chart says the same.
std::string section_html(const Section& section, const std::string& table_words) {
  std::string out = fmt::format(
      "<section id=\"{}\"><h2>{}</h2>\n", html_text(section.id), html_text(section.title));
  bool drawn = false;
  for (const Block& block : section.blocks) {
    if (const auto* p = std::get_if<Paragraph>(&block)) {
      out += fmt::format("<p{}>{}</p>\n", p->strong ? " class=\"strong\"" : "", html_text(p->text));
    } else if (const auto* c = std::get_if<Chart>(&block)) {
      out += chart_html(*c);
      drawn = true;
    } else if (const auto* picture = std::get_if<Picture>(&block)) {
      out += picture_html(*picture);
      drawn = true;
    } else if (const auto* code = std::get_if<Code>(&block)) {
      out += fmt::format(
          "<pre id=\"{}\" tabindex=\"0\">{}</pre>\n", html_text(code->id), html_text(code->text));
    } else if (const auto* table = std::get_if<DocTable>(&block)) {
      out += drawn || table->folded ? "<details><summary>" + html_text(table_words) +
                                          "</summary>\n" + table_html(*table) + "</details>\n"
                                    : table_html(*table);
    }
  }
  return out + "</section>\n";
}

}  // namespace

std::string document_html(const Document& document) {
  std::string out;
  for (const Section& section : document.sections)
    out += section_html(section, document.table_words);
  return out;
}

}  // namespace stepsight
