/** Made by the build from the examples of the reference. */
declare module "virtual:collection-calls" {
  const calls: readonly import("../../../src/reference/example.ts").CollectionCall[];
  export default calls;
}
