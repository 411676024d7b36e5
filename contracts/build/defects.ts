/** One change that breaks a promise; a test that compares random calls, or counts gas, must see it. */
export type Defect = { name: string; file: string; from: string; to: string; seenBy: keyof typeof suites };

/** The Solidity tests that look for defects, below contracts/test. */
export const suites = {
  collection: ["Differential"],
  products: ["products/Differential721", "products/Differential1155", "products/CidText"],
  operator: ["products/Operator"],
} as const;

const core = "contracts/src/core";
const products = "contracts/src/products";

/** Defects planted by `test/contracts/defects.long.test.ts`, one at a time. */
export const defects: readonly Defect[] = [
  {
    name: "the reserve is not decremented",
    file: `${core}/CollectionSale.sol`,
    from: "_setHot(hot + amount - (amount << HotWord.RESERVE_SHIFT));",
    to: "_setHot(hot + amount);",
    seenBy: "collection",
  },
  {
    name: "the presale mark is lost",
    file: `${core}/CollectionSale.sol`,
    from: "_sell(hot, wallet | PRESALE_USED, amount, cost);",
    to: "_sell(hot, wallet, amount, cost);",
    seenBy: "collection",
  },
  {
    name: "the token behind a transferred one keeps no owner",
    file: `${core}/CollectionTokens.sol`,
    from: "if iszero(sload(slot)) { sstore(slot, or(from, shl(RUN_SHIFT, sub(rest, 1)))) }",
    to: "",
    seenBy: "collection",
  },
  {
    name: "the token behind a transferred one goes to the receiver",
    file: `${core}/CollectionTokens.sol`,
    from: "if iszero(sload(slot)) { sstore(slot, or(from, shl(RUN_SHIFT, sub(rest, 1)))) }",
    to: "if iszero(sload(slot)) { sstore(slot, or(to, shl(RUN_SHIFT, sub(rest, 1)))) }",
    seenBy: "collection",
  },
  {
    name: "frozen metadata can change",
    file: `${core}/CollectionCore.sol`,
    from: 'require(!newBase && !newPrereveal, "Metadata is frozen");',
    to: "",
    seenBy: "collection",
  },
  {
    name: "an override bit is missing",
    file: `${core}/CollectionCore.sol`,
    from: "hot |= HotWord.ROOT_MOVED;",
    to: "",
    seenBy: "collection",
  },
  {
    name: "an approval survives a transfer",
    file: `${core}/CollectionTokens.sol`,
    from: "sstore(slot, or(to, shl(RUN_SHIFT, 1)))",
    to: "sstore(slot, or(or(to, shl(RUN_SHIFT, 1)), and(sload(slot), APPROVED)))",
    seenBy: "collection",
  },
  {
    name: "a former owner keeps a role granted before",
    file: `${core}/CollectionRoles.sol`,
    from: "_setWallet(newOwner, _wallet(newOwner) & ~(WALLET_IS_ADMIN | WALLET_IS_DEFAULT_ADMIN));",
    to: "",
    seenBy: "collection",
  },
  {
    name: "a revoked initialiser keeps its role",
    file: `${products}/ProductRoles.sol`,
    from: "hot = ProductWord.withFlag(hot, ProductWord.INITIALISER_IS_ADMIN, on);",
    to: "",
    seenBy: "products",
  },
  {
    name: "a former owner of a product keeps a role granted before",
    file: `${products}/ProductRoles.sol`,
    from: "_wallets[newOwner] &= ~ADMIN_BIT;",
    to: "",
    seenBy: "products",
  },
  {
    name: "a list takes away what was granted",
    file: `${products}/ProductRoles.sol`,
    from: "_wallets[account] = wallet ^ listed;",
    to: "_wallets[account] = on ? wallet ^ listed : wallet & ~(listed | bit);",
    seenBy: "products",
  },
  {
    name: "an approval for a product's token survives a transfer",
    file: `${products}/ERC721ProductCore.sol`,
    from: "_tokens[tokenId] = uint160(to);",
    to: "_tokens[tokenId] = (word & APPROVED) | uint160(to);",
    seenBy: "products",
  },
  {
    name: "a text stays under the digest that was there before",
    file: `${products}/ProductCore.sol`,
    from: "if (_digests[id] != 0) delete _digests[id];\n            _texts",
    to: "_texts",
    seenBy: "products",
  },
  {
    name: "a burned token leaves its URI",
    file: `${products}/ERC721ProductCore.sol`,
    from: "_clearUri(_tokenId);",
    to: "",
    seenBy: "products",
  },
  {
    name: "a text that is not canonical is taken for a CID",
    file: `${products}/CidText.sol`,
    from: "(high >> 158) | (low & 3) == 0",
    to: "(high >> 158) == 0",
    seenBy: "products",
  },
  {
    name: "a receiver may mint from the callback of a mint",
    file: `${products}/ProductCore.sol`,
    from: "_locked = true;",
    to: "",
    seenBy: "products",
  },
  {
    name: "a burn of an ERC-1155 leaves the supply",
    file: `${products}/ERC1155ProductCore.sol`,
    from: "tokenSupply[id] -= value;",
    to: "",
    seenBy: "products",
  },
  {
    name: "frozen metadata of a product can change",
    file: `${products}/ProductCore.sol`,
    from: "require(!newBase || hot & ProductWord.METADATA_UPDATABLE != 0, _frozenMetadata());",
    to: "",
    seenBy: "products",
  },
  {
    name: "a failed call of a batch leaves its intent done",
    file: `${products}/ProductOperator.sol`,
    from: "_unmark(intent);\n                emit IntentFailed(intent, target, _reason());",
    to: "emit IntentFailed(intent, target, _reason());",
    seenBy: "operator",
  },
  {
    name: "a batch begins a call with too little gas",
    file: `${products}/ProductOperator.sol`,
    from: "enough := gt(gas(), NEEDED_GAS)",
    to: "enough := 1",
    seenBy: "operator",
  },
  {
    name: "the operator calls anybody",
    file: `${products}/ProductOperator.sol`,
    from: "return _targets[target];",
    to: "return true;",
    seenBy: "operator",
  },
];
