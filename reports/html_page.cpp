#include "reports/html_page.h"

#include <fmt/format.h>

#include "reports/escape.h"
#include "reports/page_text.h"

namespace stepsight {

namespace {

// Nothing in a script may look like its end, nor open a comment that swallows it (HTML 13.2.5.4).
std::string inline_script(std::string text) {
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{"</script", "<\\/script"},
        {"</SCRIPT", "<\\/SCRIPT"},
        {"<!--", "<\\!--"}}) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

// What the page may do: run and style what stands in it, and reach nothing else.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:";

std::string contents(const Document& document, const Words& words) {
  std::string out = "<nav aria-label=\"" + html_text(words("page.contents")) + "\"><ul>";
  for (const Section& s : document.sections) {
    out += "<li><a href=\"#" + html_text(s.id) + "\">" + html_text(s.title) + "</a></li>";
  }
  return out + "</ul></nav>\n";
}

std::string controls(const WhatIf& what_if, const Words& words) {
  std::string out = "<section id=\"what_if\" hidden><h2>" + html_text(words("page.what_if")) +
                    "</h2><p>" + html_text(words("page.what_if_note")) +
                    "</p><div class=\"controls\">\n";
  for (const WhatIfControl& c : what_if.controls) {
    out += fmt::format(
        "<label for=\"control_{0}\">{1} <output id=\"output_{0}\">{2}</output>"
        "<input type=\"range\" id=\"control_{0}\" min=\"0\" max=\"{3}\" value=\"{4}\" "
        "aria-valuetext=\"{2}\"></label>\n",
        html_text(c.key),
        html_text(c.title),
        html_text(c.values[c.at].text),
        c.values.size() - 1,
        c.at);
  }
  out += "</div><p><button type=\"button\" id=\"reset\">" + html_text(words("page.reset")) +
         "</button> <span id=\"message\" role=\"status\"></span></p></section>\n";
  return out;
}

std::string pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out = "[";
  for (const auto& [name, text] : pairs) {
    out += (out.size() > 1 ? "," : "") + ("[" + json_string(name) + "," + json_string(text) + "]");
  }
  return out + "]";
}

std::string what_if_json(const WhatIf& w, const std::string& language) {
  std::string out = "{\"language\":" + json_string(language) +
                    ",\"file\":" + json_string(w.scenario_file) +
                    ",\"keys\":" + pairs_json(w.keys) + ",\"files\":" + pairs_json(w.files) +
                    ",\"data_folder\":" + json_string(w.data_folder) + ",\"controls\":[";
  for (std::size_t i = 0; i < w.controls.size(); ++i) {
    const WhatIfControl& c = w.controls[i];
    out += (i == 0 ? "" : ",") + ("{\"key\":" + json_string(c.key)) +
           ",\"at\":" + std::to_string(c.at) + ",\"values\":[";
    for (std::size_t v = 0; v < c.values.size(); ++v) {
      out += (v == 0 ? "" : ",") + ("{\"text\":" + json_string(c.values[v].text)) +
             ",\"keys\":" + pairs_json(c.values[v].keys) + "}";
    }
    out += "]}";
  }
  return out + "]}";
}

std::string script(const std::string& text, const char* attributes = "") {
  return std::string("<script") + attributes + ">" + text + "</script>\n";
}

}  // namespace

std::string html_page(const Document& document, const PageAssets& assets, const Words& words) {
  std::string out = "<!doctype html>\n<html lang=\"" +
                    std::string(document.language == "zh" ? "zh-Hans" : document.language) +
                    "\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
                    std::string(policy) + "\">\n<title>" + html_text(document.title) +
                    "</title>\n<style>" + std::string(page_style()) +
                    "</style></head>\n<body>\n<header><h1>" + html_text(document.title) +
                    "</h1>\n<p class=\"verdict\" id=\"verdict\">" + html_text(document.verdict) +
                    "</p>\n<p class=\"question\" id=\"question\">" + html_text(document.question) +
                    "</p></header>\n";
  if (assets.what_if) out += controls(*assets.what_if, words);
  out += contents(document, words);
  out += "<main id=\"report\">\n" + document_html(document) + "</main>\n<footer><p>" +
         html_text(words("page.made_by")) + "</p></footer>\n";
  // What is large comes after what is read, and runs when the page's script says so.
  if (!assets.chart_library.empty()) {
    out += script(inline_script(assets.chart_library), " type=\"text/plain\" id=\"library\"");
  }
  if (assets.what_if) {
    out += script(what_if_json(*assets.what_if, document.language),
                  " type=\"application/json\" id=\"asked\"");
    out += script(assets.what_if->code, " type=\"text/plain\" id=\"code\"");
    out += script(inline_script(assets.what_if->program), " type=\"text/plain\" id=\"program\"");
  }
  out += script(inline_script(std::string(page_script())));
  return out + "</body></html>\n";
}

}  // namespace stepsight
