import type { Abi, AbiEvent, AbiParameter } from "viem";

type AbiEventParameter = AbiEvent["inputs"][number];

/** One line per ABI item with every name, type and mutability, sorted; the constructor is left out. */
export function lines(abi: Abi): string[] {
  return abi
    .filter((item) => item.type !== "constructor")
    .map((item) => {
      const name = "name" in item ? item.name : "";
      const inputs = "inputs" in item ? item.inputs.map((each) => parameter(each)).join(", ") : "";
      const outputs = "outputs" in item ? item.outputs.map(parameter).join(", ") : "";
      const mutability = "stateMutability" in item ? item.stateMutability : "";
      return `${item.type} ${name}(${inputs}) ${mutability} (${outputs})`;
    })
    .sort();
}

function parameter(p: AbiParameter | AbiEventParameter): string {
  const components = "components" in p ? `{${p.components.map(parameter).join(", ")}}` : "";
  return `${p.type}${components}${"indexed" in p && p.indexed ? " indexed" : ""} ${p.name ?? ""}`;
}
