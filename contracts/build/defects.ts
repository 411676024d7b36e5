/** One change that breaks a promise; the differential test must see it. */
export type Defect = { name: string; file: string; from: string; to: string };

const core = "contracts/src/core";

/** Defects planted by `test/contracts/defects.long.test.ts`, one at a time. */
export const defects: readonly Defect[] = [
  {
    name: "the reserve is not decremented",
    file: `${core}/CollectionSale.sol`,
    from: "_setHot(hot + amount - (amount << HotWord.RESERVE_SHIFT));",
    to: "_setHot(hot + amount);",
  },
  {
    name: "the presale mark is lost",
    file: `${core}/CollectionSale.sol`,
    from: "_sell(hot, wallet | PRESALE_USED, amount, cost);",
    to: "_sell(hot, wallet, amount, cost);",
  },
  {
    name: "the token behind a transferred one keeps no owner",
    file: `${core}/CollectionTokens.sol`,
    from: "if iszero(sload(slot)) { sstore(slot, or(from, shl(RUN_SHIFT, sub(rest, 1)))) }",
    to: "",
  },
  {
    name: "the token behind a transferred one goes to the receiver",
    file: `${core}/CollectionTokens.sol`,
    from: "if iszero(sload(slot)) { sstore(slot, or(from, shl(RUN_SHIFT, sub(rest, 1)))) }",
    to: "if iszero(sload(slot)) { sstore(slot, or(to, shl(RUN_SHIFT, sub(rest, 1)))) }",
  },
  {
    name: "frozen metadata can change",
    file: `${core}/CollectionCore.sol`,
    from: 'require(!newBase && !newPrereveal, "Metadata is frozen");',
    to: "",
  },
  {
    name: "an override bit is missing",
    file: `${core}/CollectionCore.sol`,
    from: "hot |= HotWord.ROOT_MOVED;",
    to: "",
  },
  {
    name: "an approval survives a transfer",
    file: `${core}/CollectionTokens.sol`,
    from: "sstore(slot, or(to, shl(RUN_SHIFT, 1)))",
    to: "sstore(slot, or(or(to, shl(RUN_SHIFT, 1)), and(sload(slot), APPROVED)))",
  },
  {
    name: "a former owner keeps a role granted before",
    file: `${core}/CollectionRoles.sol`,
    from: "_setWallet(newOwner, _wallet(newOwner) & ~(WALLET_IS_ADMIN | WALLET_IS_DEFAULT_ADMIN));",
    to: "",
  },
];
