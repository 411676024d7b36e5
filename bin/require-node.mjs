// Runs before a systemd unit's program: an older Node cannot load TypeScript, and its error would not say why.
const wanted = Number(process.argv[2]);
if (Number(process.versions.node.split(".")[0]) < wanted) {
  process.stderr.write(
    `mintyard: ${process.execPath} is Node ${process.versions.node}, and ${wanted} or newer is needed: install it, or put the ` +
      "folder of one first into PATH (Environment=PATH=… in the unit)\n",
  );
  process.exit(1);
}
