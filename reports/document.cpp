#include "reports/document.h"

#include <cmath>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "reports/chart_json.h"
#include "reports/escape.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

using Buffer = fmt::memory_buffer;

template <typename... Args>
void put(Buffer& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

// A column of figures has no words: what is "-" to a person does not exist.
std::string cell_json(const Cell& cell, bool number) {
  if (cell.value) return number_json(*cell.value);
  return number || cell.text.empty() ? "null" : json_string(cell.text);
}

template <typename T, typename Write>
void put_list(Buffer& out, const Section& section, std::string_view name, Write write) {
  bool first = true;
  for (const Block& block : section.blocks) {
    const T* item = std::get_if<T>(&block);
    if (item == nullptr) continue;
    if (first) {
      put(out, ",\n  \"{}\": [", name);
    } else {
      put(out, ",");
    }
    put(out, "\n   ");
    write(*item);
    first = false;
  }
  if (!first) put(out, "]");
}

void put_table(Buffer& out, const DocTable& table) {
  put(out,
      "{{\"id\": {}, \"title\": {}, \"rows\": [",
      json_string(table.id),
      json_string(table.title));
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    put(out, "{}\n    {{", r == 0 ? "" : ",");
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Cell cell = c < table.rows[r].size() ? table.rows[r][c] : Cell();
      put(out,
          "{}{}: {}",
          c == 0 ? "" : ", ",
          json_string(table.columns[c].key),
          cell_json(cell, table.columns[c].number));
    }
    put(out, "}}");
  }
  put(out, "]}}");
}

// The longest run of backticks in a text, plus one: a fence that the text cannot end.
std::string fence_for(std::string_view text) {
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

std::string table_markdown(const DocTable& table) {
  std::string out;
  if (!table.title.empty()) out += "**" + markdown_text(table.title) + "**\n\n";
  out += "|";
  for (const DocTable::Column& c : table.columns) out += " " + markdown_text(c.title) + " |";
  out += "\n|";
  for (const DocTable::Column& c : table.columns) out += c.number ? " ---: |" : " --- |";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (const Cell& cell : row) out += " " + markdown_text(cell.text) + " |";
    out += "\n";
  }
  return out + "\n";
}

std::string code_markdown(const Code& code) {
  const std::string fence = fence_for(code.text);
  const std::string end = code.text.empty() || code.text.back() == '\n' ? "" : "\n";
  return fence + "\n" + valid_utf8(code.text) + end + fence + "\n\n";
}

}  // namespace

std::string number_json(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string document_json(const Document& d) {
  Buffer out;
  put(out,
      "{{\n \"schema\": 1,\n \"report\": {},\n \"language\": {},\n",
      json_string(d.kind),
      json_string(d.language));
  put(out,
      " \"title\": {},\n \"question\": {},\n \"verdict\": {},\n \"sections\": [",
      json_string(d.title),
      json_string(d.question),
      json_string(d.verdict));
  for (std::size_t i = 0; i < d.sections.size(); ++i) {
    const Section& s = d.sections[i];
    put(out,
        "{}\n {{\"id\": {}, \"title\": {}",
        i == 0 ? "" : ",",
        json_string(s.id),
        json_string(s.title));
    put_list<Paragraph>(
        out, s, "text", [&](const Paragraph& p) { put(out, "{}", json_string(p.text)); });
    put_list<DocTable>(out, s, "tables", [&](const DocTable& t) { put_table(out, t); });
    put_list<Chart>(out, s, "charts", [&](const Chart& c) { put(out, "{}", chart_json(c)); });
    put_list<Code>(out, s, "code", [&](const Code& c) {
      put(out, "{{\"id\": {}, \"text\": {}}}", json_string(c.id), json_string(c.text));
    });
    put(out, "}}");
  }
  put(out, "]\n}}\n");
  return fmt::to_string(out);
}

std::string document_markdown(const Document& d) {
  std::string out = "# " + markdown_text(d.title) + "\n\n";
  if (!d.question.empty()) out += markdown_text(d.question) + "\n\n";
  out += "**" + markdown_text(d.verdict) + "**\n\n";
  for (const Section& s : d.sections) {
    out += "## " + markdown_text(s.title) + "\n\n";
    for (const Block& block : s.blocks) {
      if (const auto* p = std::get_if<Paragraph>(&block)) out += markdown_text(p->text) + "\n\n";
      if (const auto* t = std::get_if<DocTable>(&block)) out += table_markdown(*t);
      if (const auto* c = std::get_if<Code>(&block)) out += code_markdown(*c);
    }
  }
  return out;
}

std::string document_csv(const Document& d) {
  std::string out;
  for (const Section& s : d.sections) {
    for (const Block& block : s.blocks) {
      const auto* table = std::get_if<DocTable>(&block);
      if (table == nullptr) continue;
      out += out.empty() ? "" : "\n";
      out += "# " + table->id + "\n";
      for (std::size_t c = 0; c < table->columns.size(); ++c) {
        out += (c == 0 ? "" : ",") + csv_cell(table->columns[c].key);
      }
      out += "\n";
      for (const auto& row : table->rows) {
        for (std::size_t c = 0; c < row.size(); ++c) {
          out += c == 0 ? "" : ",";
          const bool number = c < table->columns.size() && table->columns[c].number;
          if (row[c].value) {
            out += fmt::format("{}", *row[c].value);
          } else if (!number) {
            out += csv_cell(row[c].text);
          }
        }
        out += "\n";
      }
    }
  }
  return out;
}

}  // namespace stepsight
