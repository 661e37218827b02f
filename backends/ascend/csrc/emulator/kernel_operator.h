// The part of AscendC that xgr's kernels use, on the host: what a kernel includes where no CANN is.
//
// Written from the public API reference (the documents of asc-devkit). Where the reference leaves
// a result open, or says that a call must not be made, the emulator stops with a message.
#pragma once

#include "ascendc/arithmetic.h"
#include "ascendc/copy.h"
#include "ascendc/order.h"
#include "ascendc/select.h"

namespace emulated {

// Name of the fault that is switched on, empty for none.
inline std::string &fault()
{
    static std::string name;
    return name;
}

inline bool faulty(const char *name)
{
    return !fault().empty() && fault() == name;
}

}  // namespace emulated

#define XGR_FAULT(name) emulated::faulty(name)
#define XGR_SITE , AscendC::Site site = AscendC::Site::here()
#define XGR_SITE_ALONE AscendC::Site site = AscendC::Site::here()
#define XGR_AT , site
