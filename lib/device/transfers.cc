#include "device/transfers.h"

namespace afore::device {

const char* to_string(CopyPath path) {
  switch (path) {
    case CopyPath::host: return "host";
    case CopyPath::d2d: return "d2d";
    case CopyPath::peer: return "peer";
    case CopyPath::nccl: return "nccl";
  }
  return "?";
}

}  // namespace afore::device
