#include "cost/device/devices.h"

#include <gtest/gtest.h>

#include <set>

#include "cost/device/profile_fields.h"

namespace refrain::cost {
namespace {

TEST(Devices, EveryNumberOfABuiltInDeviceHasASourceAndLiesInItsRange) {
  ASSERT_EQ(devices().size(), 7u);
  for (const DeviceProfile& device : devices()) {
    EXPECT_TRUE(device.host == "x86" || device.host == "arm") << device.name;
    for (const auto& [name, provenance] : device.provenance) {
      EXPECT_FALSE(provenance.source.empty()) << device.name << " " << name;
    }
    for (const ProfileField& field : profile_fields()) {
      const auto found = device.provenance.find(std::string(field.name));
      if (found == device.provenance.end()) {
        EXPECT_TRUE(field.optional) << device.name << " " << field.name;
        continue;
      }
      const double value = value_of(field, device);
      EXPECT_GE(value, field.least) << device.name << " " << field.name;
      EXPECT_LE(value, field.most) << device.name << " " << field.name;
    }
  }
}

TEST(Devices, AreFoundByNameAndAliasWhateverTheCaseAndPunctuation) {
  for (const char* name : {"h100-80gb", "H100", "h100 sxm", "H100_80GB", "NVIDIA H100 80GB HBM3"}) {
    const auto found = find_device(name);
    ASSERT_TRUE(found.value) << name;
    EXPECT_EQ(found.value->name, "h100-80gb");
  }
  EXPECT_EQ(find_device("GB300 NVL72").value->name, "gb300");
  EXPECT_EQ(find_device("dgx_a100").value->name, "a100-80gb");
}

TEST(Devices, AnUnknownNameIsAFindingThatNamesTheNearest) {
  const auto misspelt = find_device("gb3000");
  ASSERT_FALSE(misspelt.value);
  ASSERT_EQ(misspelt.findings.size(), 1u);
  EXPECT_EQ(misspelt.findings[0].rule, "device.unknown");
  EXPECT_EQ(misspelt.findings[0].remedy, "did you mean gb300?");
  for (const std::string& name :
       {std::string(), std::string("--"), std::string("rates"), std::string(1 << 20, 'a')}) {
    EXPECT_FALSE(find_device(name).value);
  }
}

TEST(Devices, InheritWhatTheyDoNotSay) {
  const DeviceProfile h100 = *find_device("h100").value, h200 = *find_device("h200").value;
  EXPECT_EQ(h200.rates.gemm.bf16, h100.rates.gemm.bf16);
  EXPECT_EQ(h200.peaks.bf16_flops, h100.peaks.bf16_flops);
  EXPECT_GT(h200.memory_bytes, h100.memory_bytes);
  EXPECT_GT(h200.peaks.hbm_bytes_per_s, h100.peaks.hbm_bytes_per_s);
}

TEST(Devices, AShortSourceIsSpeltOut) {
  const DeviceProfile h100 = *find_device("h100").value;
  const std::string& source = h100.provenance.at("gemm_fp8").source;
  EXPECT_EQ(source, "fit to published H100 steps; see rates.json; current scaling");
  ASSERT_TRUE(h100.provenance.at("gemm_fp8").range);
  EXPECT_EQ(h100.provenance.at("gemm_fp8").range->first, 0.65);
}

}  // namespace
}  // namespace refrain::cost
