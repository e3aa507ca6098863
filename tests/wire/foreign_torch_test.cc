#include <string>

#include "foreign_test_util.h"
#include "wire/foreign/torch_file.h"
#include "wire/foreign/zip_file.h"

namespace afore::wire {
namespace {

using Values = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;
using std::string_literals::operator""s;

std::string torch_error(const std::string& name) {
  return error_of([&] { TorchFile(fixture(name), name); });
}

std::string pickle_error(Bytes bytes) {
  return error_of([&] { Pickle(std::move(bytes), "f.pt"); });
}

Bytes bytes_of(std::initializer_list<std::string> parts) {
  Bytes out = {0x80, 2};
  for (const std::string& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// {'t': tensor} of one storage "0" of `elements` int64, with the given opcodes for offset, size and stride.
Bytes tensor_pickle(const std::string& elements, const std::string& offset, const std::string& size,
                    const std::string& stride) {
  return bytes_of({"}X\1\0\0\0t"s, "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storage"s,
                   "ctorch\nLongStorage\nX\1\0\0\0000X\3\0\0\0cpu"s, elements, "tQ"s, offset, size, stride,
                   "\x89}tRs."});
}

std::string tensor_error(const std::string& elements, const std::string& offset, const std::string& size,
                         const std::string& stride) {
  return error_of([&] {
    TorchFile file(tensor_pickle(elements, offset, size, stride), {{"0", Bytes(64)}}, false, "f.pt");
    file.integers(file.root().at("t"));
  });
}

std::string int8_opcode(std::int64_t value) {
  std::string out = "\x8a\x08";
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i);
  return out;
}

TEST(TorchFile, Dtypes) {
  TorchFile file(fixture("torch_values.pt"), "v.pt");
  for (const char* name : {"i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"}) {
    const IntegerTensor tensor = file.integers(file.root().at(name));
    EXPECT_EQ(tensor.shape, (Values{2, 3})) << name;
    EXPECT_EQ(tensor.values, numbers(6, -3)) << name;
  }
  EXPECT_EQ(file.integers(file.root().at("u8")).values, numbers(6));
  EXPECT_EQ(file.integers(file.root().at("bool")).values, (Values{1, 0, 1}));
}

TEST(TorchFile, Views) {
  TorchFile file(fixture("torch_values.pt"), "v.pt");
  const IntegerTensor transposed = file.integers(file.root().at("transposed"));
  EXPECT_EQ(transposed.shape, (Values{6, 4}));
  EXPECT_EQ(Values(transposed.values.begin(), transposed.values.begin() + 5), (Values{0, 6, 12, 18, 1}));
  EXPECT_EQ(file.integers(file.root().at("slice")).values, (Values{6, 8, 10, 12, 14, 16}));
  EXPECT_EQ(file.integers(file.root().at("expanded")).values, (Values{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(file.integers(file.root().at("scalar")).values, (Values{5}));
  EXPECT_TRUE(file.integers(file.root().at("scalar")).shape.empty());
  EXPECT_EQ(file.integers(file.root().at("empty")).shape, (Values{0, 3}));
  EXPECT_EQ(error_of([&] { file.integers(file.root().at("half")); }), "v.pt: half: element 0 is no whole number");
  EXPECT_EQ(error_of([&] { file.integers(file.root().at("infinite")); }),
            "v.pt: infinite: element 0 is no whole number");
  EXPECT_EQ(error_of([&] { file.integers(file.root().at("other")); }), "v.pt: other: expected a tensor, found a list");
}

TEST(TorchFile, OtherValues) {
  TorchFile file(fixture("torch_values.pt"), "v.pt");
  const PickleView other = file.root().at("other");
  ASSERT_EQ(other.size(), 12u);
  const Values integers = {1, -1, 256, 65536, std::int64_t{1} << 40, -(std::int64_t{1} << 62)};
  for (std::size_t i = 0; i < integers.size(); ++i) EXPECT_EQ(other.item(i).integer(), integers[i]);
  EXPECT_EQ(other.item(6).type(), PickleType::real);
  EXPECT_EQ(other.item(7).type(), PickleType::none);
  EXPECT_EQ(other.item(8).type(), PickleType::boolean);
  EXPECT_EQ(other.item(9).size(), 0u);
  EXPECT_EQ(other.item(11).item(3).integer(), 4);
  EXPECT_EQ(error_of([&] { other.item(6).integer(); }), "v.pt: other[6]: expected an int, found a float");
  EXPECT_EQ(error_of([&] { other.at("x"); }), "v.pt: other: expected a dict, found a list");
  EXPECT_EQ(error_of([&] { file.root().at("x\ny"); }), "v.pt: has no key \"x\\ny\"");
}

TEST(TorchFile, ByteOrder) {
  for (const char* name : {"torch_big_endian.pt", "torch_little_endian.pt", "sglang_map.pt"}) {
    TorchFile file(fixture(name), name);
    EXPECT_EQ(file.integers(file.root().at("physical_to_logical_map")).values, kP2l) << name;
  }
  EXPECT_EQ(torch_error("torch_order.pt"), "torch_order.pt: byteorder is \"middle\", neither little nor big");
}

TEST(TorchFile, Refused) {
  EXPECT_EQ(torch_error("torch_legacy.pt"),
            "torch_legacy.pt: is a pickle without a zip around it, as torch.save wrote before PyTorch 1.6 | write it "
            "again with torch.save(..., _use_new_zipfile_serialization=True)");
  EXPECT_NE(torch_error("torch_parameter.pt")
                .find("the pickle calls torch._utils._rebuild_parameter: this reader runs "
                      "nothing"),
            std::string::npos);
  EXPECT_EQ(torch_error("torch_deflated.pt"),
            "torch_deflated.pt: entry \"sglang_map/data.pkl\": is compressed | torch.save stores its entries as they "
            "are; save the file again");
  EXPECT_EQ(torch_error("torch_twice.pt"), "torch_twice.pt: an entry is there twice");
  EXPECT_EQ(torch_error("zip_other.pt"), "zip_other.pt: is a zip without data.pkl: not of torch.save");
  EXPECT_EQ(torch_error("c_i4.npy"), "c_i4.npy: is no zip archive");
  TorchFile file(fixture("torch_no_storage.pt"), "f.pt");
  EXPECT_EQ(error_of([&] { file.integers(file.root().at("physical_to_logical_map")); }),
            "f.pt: physical_to_logical_map: there is no storage data/\"0\"");
}

TEST(TorchFile, CutOff) {
  for (const char* name : {"torch_values.pt", "sglang_map.pt"})
    expect_prefixes_refused(fixture(name), [](const Bytes& cut) { TorchFile(cut, "f.pt"); });
}

// Whatever byte changes, the numbers are those that were saved, or the file is refused: each entry has a CRC.
TEST(TorchFile, Damaged) {
  const Bytes whole = fixture("sglang_map.pt");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes bytes = whole;
    bytes[at] ^= 0x10;
    const std::string error = error_of([&] {
      TorchFile file(bytes, "f.pt");
      EXPECT_EQ(file.integers(file.root().at("physical_to_logical_map")).values, kP2l) << "byte " << at;
    });
    refused += error != "no error";
  }
  EXPECT_GT(refused, 300);  // what is left is padding, times and the like
}

TEST(TorchFile, TensorsOutsideTheirStorage) {
  const std::string zero = "K\0"s, eight = "K\10"s, one = "K\1"s;
  const auto tuple = [](const std::string& value) { return value + "\x85"; };
  EXPECT_EQ(tensor_error(eight, zero, tuple(eight), tuple(one)), "no error");
  EXPECT_EQ(tensor_error("K\11"s, zero, tuple(one), tuple(one)),
            "f.pt: t: its storage has 64 bytes, too few for 9 of int64 | was the file cut off?");
  EXPECT_EQ(tensor_error(eight, one, tuple(eight), tuple(one)),
            "f.pt: t: its last element is number 8 of a storage of 8");
  const std::string huge = int8_opcode(INT64_MAX), negative = int8_opcode(-1);
  EXPECT_EQ(tensor_error(eight, zero, tuple(eight), tuple(huge)),
            "f.pt: t: the shape [8] with strides [9223372036854775807] is too large");
  EXPECT_EQ(tensor_error(eight, one, tuple(one), tuple(huge)), "no error");  // of one element
  EXPECT_EQ(tensor_error(eight, huge, tuple(one), tuple(one)),
            "f.pt: t: its last element is number 9223372036854775807 of a storage of 8");
  EXPECT_EQ(tensor_error(eight, zero, tuple(huge), tuple(zero)),
            "f.pt: t: the file repeats its numbers: there are more than it has bytes | save tensors with "
            ".contiguous().clone(), each once");
  EXPECT_NE(tensor_error(eight, zero, tuple(negative), tuple(one)).find("a tensor's size has -1"), std::string::npos);
  EXPECT_NE(tensor_error(eight, zero, tuple(one), tuple(negative)).find("a tensor's stride has -1"), std::string::npos);
  EXPECT_NE(tensor_error(eight, negative, tuple(one), tuple(one)).find("a tensor's offset is -1"), std::string::npos);
  EXPECT_NE(tensor_error(negative, zero, tuple(one), tuple(one)).find("a storage has -1 elements"), std::string::npos);
  EXPECT_NE(tensor_error(eight, zero, tuple(one), one + one + "\x86").find("1 sizes and 2 strides"), std::string::npos);
}

// A small file that repeats one number: 2^20 of them fit, and then no more.
TEST(TorchFile, RepeatedElementsAreBounded) {
  const std::string zero = "K\0"s, many = int8_opcode((1 << 20) + 64);
  TorchFile file(tensor_pickle("K\10"s, zero, many + "\x85", zero + "\x85"), {{"0", Bytes(64)}}, false, "f.pt");
  EXPECT_EQ(file.integers(file.root().at("t")).values.size(), (1u << 20) + 64);
  EXPECT_NE(error_of([&] { file.integers(file.root().at("t")); }).find("repeats its numbers"), std::string::npos);
}

// A list of pairs in the memo, and OrderedDicts of it, each of which copies the pairs.
TEST(Pickle, RepeatedDictsAreBounded) {
  const auto error = [](int pairs, int dicts) {
    std::string text = "(]q\1("s;
    for (int i = 0; i < pairs; ++i) text += "K\1K\1\x86"s;
    text += "e"s;
    for (int i = 0; i < dicts; ++i) text += "ccollections\nOrderedDict\nh\1\x85R"s;
    return pickle_error(bytes_of({text, "t."s}));
  };
  EXPECT_EQ(error(1000, 2), "no error");  // 4,000 values, 5,000 bytes for the pairs alone
  const std::string refusal = error(1000, 1000);
  EXPECT_NE(refusal.find("the OrderedDicts have more values than the pickle has bytes"), std::string::npos) << refusal;
}

TEST(Pickle, CallsNothing) {
  const auto refusal = [](const std::string& name) {
    const std::string error = pickle_error(fixture(name));
    return error.substr(0, error.find(" | "));
  };
  EXPECT_EQ(refusal("os_system.pkl"),
            "f.pt: data.pkl: byte 19: the pickle calls posix.system: this reader runs nothing");
  EXPECT_EQ(refusal("eval.pkl"), "f.pt: data.pkl: byte 29: the pickle calls builtins.eval: this reader runs nothing");
  EXPECT_EQ(refusal("getattr.pkl"),
            "f.pt: data.pkl: byte 5: the pickle calls __builtin__.getattr: this reader runs nothing");
  EXPECT_EQ(refusal("object.pkl"),
            "f.pt: data.pkl: byte 2: the pickle calls collections.Counter: this reader runs nothing");
  const std::string build = pickle_error(bytes_of({"}}b."}));
  EXPECT_EQ(build, "f.pt: data.pkl: byte 4: the pickle builds an object (BUILD): this reader runs nothing");
  for (const char opcode : {'i', 'o', 'P', '\x81', '\x82', '\x92'})
    EXPECT_NE(pickle_error(bytes_of({"}", std::string(1, opcode)})).find("builds an object"), std::string::npos);
  EXPECT_NE(pickle_error(bytes_of({"(K\1t)R."})).find("calls what is no function"), std::string::npos);
  EXPECT_NE(pickle_error(bytes_of({"cos\nsys\x01tem\n."})).find("os.sys\\u0001tem"), std::string::npos);
}

TEST(Pickle, Nesting) {
  EXPECT_EQ(pickle_error(fixture("cycle.pkl")), "f.pt: data.pkl: a container stands within itself");
  EXPECT_EQ(pickle_error(fixture("deep.pkl")), "f.pt: data.pkl: values nest deeper than 64 levels");
  EXPECT_EQ(pickle_error(fixture("shared.pkl")), "no error");  // 2^60 ways to its innermost list
  // A dict that is its own value, and a list that reaches itself over a tuple.
  EXPECT_NE(pickle_error(bytes_of({"}q\0X\1\0\0\0ah\0s."s})).find("within itself"), std::string::npos);
  EXPECT_NE(pickle_error(bytes_of({"]q\0h\0\x85"s, "a."})).find("within itself"), std::string::npos);
}

TEST(Pickle, Malformed) {
  const auto refused = [](const std::string& opcodes, const std::string& fact) {
    EXPECT_NE(pickle_error(bytes_of({opcodes})).find(fact), std::string::npos) << pickle_error(bytes_of({opcodes}));
  };
  refused("", "1 bytes are asked for, 0 are left");
  refused(".", "ends with more or less than one value");
  refused("NN.", "ends with more or less than one value");
  refused("N(.", "ends with more or less than one value");
  refused("N.N", "1 bytes follow the end");
  refused("t.", "there is no mark");
  refused("e.", "there is no mark");
  refused("]Na", "bytes are asked for");
  refused("NNa.", "there is no list to add to");
  refused("}(Nu.", "a key has no value");
  refused("(a.", "too few values");
  refused("(\x85.", "too few values");
  refused("Nh\7.", "memo slot 7 is empty");
  refused("Nr\xff\xff\xff\xff.", "memo slot 4294967295 is beyond the pickle's length");
  refused("X\xff\xff\xff\xff", "4294967295 bytes are asked for, 0 are left");
  refused("\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "bytes are asked for, 0 are left");
  refused("\x8b\xff\xff\xff\xff", "an integer has 4294967295 bytes");
  refused("\x95\xff\xff\xff\xff\xff\xff\xff\xff.", "a frame ends behind the pickle");
  refused("NQ.", "a persistent id is no tuple");
  refused(")Q.", "a persistent id is not");
  refused("c", "a name does not end");
  refused("NN\x93.", "the name of a function is no str");
  refused("I1\n.", "opcode 0x49 is none that torch.save writes");
  refused("ctorch._utils\n_rebuild_tensor_v2\n)R.", "a tensor is not of");
  refused("ccollections\nOrderedDict\n]N\x61\x85R.", "not of a list of pairs");
  refused(std::string(2000, '('), "more than 1024 marks");
  EXPECT_NE(pickle_error({0x80, 5, 'N', '.'}).find("protocol 5 is not read"), std::string::npos);
  EXPECT_NE(pickle_error({'N', '.'}).find("does not begin as a pickle"), std::string::npos);
  EXPECT_EQ(pickle_error(bytes_of({"ccollections\nOrderedDict\n]X\1\0\0\0aN\x86"s, "a\x85R."})), "no error");
}

TEST(Pickle, SameKeyTwice) {
  const Pickle pickle(bytes_of({"}(X\1\0\0\0aK\1X\1\0\0\0aK\2u."s}), "f.pt");
  const PickleView root(pickle, pickle.root(), "");
  EXPECT_EQ(error_of([&] { root.find("a"); }), "f.pt: the key \"a\" is there twice");
}

TEST(Pickle, CutOff) {
  TorchFile whole(fixture("torch_values.pt"), "v.pt");
  const ZipFile zip(fixture("torch_values.pt"), "v.pt");
  const Bytes pickle = zip.read("torch_values/data.pkl");
  for (std::size_t size = 0; size < pickle.size(); ++size)
    EXPECT_NE(pickle_error(Bytes(pickle.begin(), pickle.begin() + static_cast<std::ptrdiff_t>(size))), "no error");
}

TEST(ZipFile, NamesAndEntries) {
  const ZipFile zip(fixture("zip_other.pt"), "z.zip");
  EXPECT_EQ(zip.names(), (std::vector<std::string>{"a.txt"}));
  EXPECT_TRUE(zip.has("a.txt"));
  EXPECT_FALSE(zip.has("b.txt"));
  const Bytes hello = zip.read("a.txt");
  EXPECT_EQ(std::string(hello.begin(), hello.end()), "hello");
  EXPECT_EQ(error_of([&] { zip.read("b.txt"); }), "z.zip: has no entry \"b.txt\"");
}

std::string little(std::size_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
  return out;
}

// An archive of `count` empty entries, whose CRC is 0.
Bytes many_entries(int count) {
  std::string local, central;
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i) + "e", offset = little(local.size(), 4);
    const std::string head = "\x14\0\0\0\0\0\0\0\x21\0"s + std::string(12, '\0') + little(name.size(), 2) + "\0\0"s;
    local += "PK\3\4" + head + name;
    central += "PK\1\2\x14\0"s + head + std::string(10, '\0') + offset + name;
  }
  const std::string entries = little(static_cast<std::size_t>(count), 2);
  const std::string end =
      "PK\5\6\0\0\0\0"s + entries + entries + little(central.size(), 4) + little(local.size(), 4) + "\0\0"s;
  const std::string all = local + central + end;
  return {all.begin(), all.end()};
}

TEST(ZipFile, ManyEntries) {
  const ZipFile zip(many_entries(5000), "z.zip");
  ASSERT_EQ(zip.names().size(), 5000u);
  EXPECT_TRUE(zip.has("4999e"));
  EXPECT_FALSE(zip.has("5000e"));
  EXPECT_TRUE(zip.read("17e").empty());
}

TEST(ZipFile, Damaged) {
  Bytes bytes = fixture("zip_other.pt");
  const std::string text(bytes.begin(), bytes.end());
  bytes[text.find("hello")] = 'j';
  const ZipFile zip(bytes, "z.zip");
  EXPECT_EQ(error_of([&] { zip.read("a.txt"); }), "z.zip: entry \"a.txt\": is damaged: CRC error");
  expect_prefixes_refused(fixture("zip_other.pt"), [](const Bytes& cut) { ZipFile(cut, "z.zip"); });
}

}  // namespace
}  // namespace afore::wire
