#!/usr/bin/env bash
# Files made to harm: nothing they name is run, and each ends in one line and exit 3.
set -uo pipefail
python=$(command -v python3) || { echo "no python3"; exit 77; }
"$python" - << 'END_OF_FILES' || exit 1
import os, pickle, struct, zipfile


class Evil:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


def pt(name, pickled):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")


pt("system.pt", pickle.dumps({"physical_to_logical_map": Evil(os.system, "touch pwned")}, protocol=2))
pt("eval.pt", pickle.dumps({"logical_count": Evil(eval, "open('pwned','w')")}, protocol=2))
pt("getattr.pt", pickle.dumps(Evil(getattr, "text", "upper"), protocol=2))
pt("good.pt", pickle.dumps({"logical_count": [[4, 2, 2], [1, 2, 1]]}, protocol=2))
bytes_ = open("good.pt", "rb").read()
open("cut.pt", "wb").write(bytes_[: len(bytes_) // 2])
damaged = bytearray(bytes_)
damaged[bytes_.index(b"logical_count") + 3] ^= 1
open("crc.pt", "wb").write(damaged)

os.makedirs("stats")
header = b'{"0_3":{"dtype":"I64","shape":[4],"data_offsets":[0,32]},"0_4":{"dtype":"I64","shape":[4],"data_offsets":[16,48]}}'
open("stats/rank0.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + bytes(48))
open("stats/meta_info.json", "w").write('{"num_experts":4,"num_experts_per_token":2}')
open("laughs.yaml", "w").write("a: &a [x,x]\nb: &b [*a,*a]\nnum_slots: 2\n")
open("tag.yaml", "w").write("num_slots: !!python/object/apply:os.system ['touch pwned']\n")
open("merge.yaml", "w").write("num_slots: 2\ninitial_global_assignments:\n  <<: {1: [0, 1]}\n")
head = "{'descr': '<i8', 'fortran_order': False, 'shape': (__import__('os').system('touch pwned'), 2), }"
open("code.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
head = "{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"
open("huge.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
END_OF_FILES
try() {
  afore-trace import --top-k 1 "$@" > out 2> err
  printf '%s = %d, %d bytes out: %s\n' "${*: -1}" $? "$(stat -c %s out)" "$(head -n 1 err)"
  (($(grep -cv ': hint: ' err) == 1)) || cat err
}
for file in system.pt eval.pt getattr.pt cut.pt crc.pt; do try --from sglang $file; done
try --from trtllm stats
for file in laughs.yaml tag.yaml merge.yaml; do try --from trtllm --workers 1 $file; done
for file in code.npy huge.npy; do try --from vllm --moe-layers 0-1 $file; done
try --from sglang good.pt
[[ ! -e pwned ]] && echo "nothing was run"
