// Loaded before a program (`node --import`): its clock is an hour ahead, as on a machine that nobody set.
const hour = 3_600_000;
const RealDate = globalThis.Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + hour);
    else super(...args);
  }
  static now() {
    return RealDate.now() + hour;
  }
};
