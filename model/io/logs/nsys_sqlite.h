// Nsight Systems' recording as SQLite (`nsys export --type sqlite`, `nsys profile --export=sqlite`)
// to the split of its steady step. Of the tables documented in its User Guide ("SQLite Schema
// Reference") read:
//
//   CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, shortName)    ns; the name by its id in
//   StringIds (id, value)
//   CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId)
//   NVTX_EVENTS (start, end, text, textId)                          stretches that mark steps
//
// A step is what torch.cuda.nvtx.range_push or nvtx.annotate was given under a name of step,
// iteration, iter or ProfilerStep, in any case, alone or with a number ("iteration 12"). Rows are
// read one after the other: a recording is never held.
#pragma once
#include <string>
#include <string_view>

#include "model/trace_split.h"

namespace stepsight {

// Whether the file's name says that it is one (.sqlite, .sqlite3).
bool names_an_nsys_recording(const std::string& name);

// UserError when it is no database, has other tables, or holds no kernel.
StepSplit read_nsys_split(const std::string& path);
// The same of a database's bytes.
StepSplit read_nsys_split_bytes(const std::string& file, std::string_view bytes);

// Whether an NVTX stretch of that name marks a step.
bool marks_a_step(std::string_view name);

}  // namespace stepsight
