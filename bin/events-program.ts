import { Option } from "@commander-js/extra-typings";
import { type AnyCommand, addGroup, exitWith, parseWhole, withService } from "./command-line.ts";

const listening = () => import("./events/listen.ts");
const endpoints = () => import("./events/endpoints.ts");
const operator = () => import("./events/operator-endpoints.ts");

/** Adds `mintyard events`: streams and webhooks for developers who build on the service. */
export function addEventCommands(program: AnyCommand): void {
  const group = addGroup(program, "events", "streams and webhooks (docs/events.md)");
  withFilter(group.command("listen"))
    .description("print events as they come, and send them to a local receiver as webhooks")
    .option("--forward-to <receiver>", "send each to this address, signed with this machine's own secret")
    .option("--after <sequence>", "go on behind this event")
    .option("--count <events>", "end after so many", parseWhole)
    .option("--print-secret", "print the secret that --forward-to signs with, and end")
    .action(async (options) => await exitWith((await listening()).listen(options)));
  withService(group.command("trigger"))
    .description("send an invented event, with test: true, to a local receiver or to an endpoint")
    .argument("<type>", "such as nft.transfer, nft.transfer.retracted, mint.confirmed")
    .option("--forward-to <receiver>", "from here, signed with the secret of events listen")
    .option("--endpoint <id>", "from the service")
    .action(async (type, options) => await exitWith((await import("./events/trigger.ts")).trigger(type, options)));
  withService(group.command("replay"))
    .description("send events again to an endpoint, with the ids they had")
    .argument("[event]", "id of one event")
    .option("--endpoint <id>", "which endpoint, where there are several")
    .option("--since <time>", "events that were committed since")
    .option("--until <time>", "and before")
    .option("--from-block <number>", "movements of these blocks", parseWhole)
    .option("--to-block <number>", "the last of them", parseWhole)
    .option("--failed", "all that was given up")
    .action(async (event, options) => await exitWith((await endpoints()).replayEvents(event, options)));
  addEndpointCommands(addGroup(group, "endpoints", "where the service sends events to"));
  addOperatorCommands(addGroup(group, "operator", "where the service tells its operator what needs a look"));
}

function addEndpointCommands(group: AnyCommand): void {
  withService(group.command("list"))
    .description("the account's endpoints")
    .action(async (options) => await exitWith((await endpoints()).listEndpoints(options)));
  withFilter(group.command("create"))
    .description("make an endpoint, print its secret")
    .argument("<receiver>", "the address that gets the events")
    .option("--description <text>", "for whoever reads the list")
    .action(async (receiver, options) => await exitWith((await endpoints()).createEndpoint(receiver, options)));
  withFilter(group.command("change"))
    .description("change what is given; a list replaces a list")
    .argument("<id>", "id of the endpoint")
    .option("--receiver <address>", "the address that gets the events")
    .option("--description <text>", "for whoever reads the list")
    .action(async (id, options) => await exitWith((await endpoints()).changeEndpoint(id, options)));
  for (const [action, does] of [
    ["show", "one endpoint"],
    ["pause", "stop sending; events wait"],
    ["resume", "go on sending, also after it was disabled"],
    ["verify", "ask anew whether it wants messages, by a challenge"],
    ["delete", "delete it with what waits for it"],
  ] as const)
    withService(group.command(action))
      .description(does)
      .argument("<id>", "id of the endpoint")
      .action(async (id, options) => await exitWith((await endpoints()).actOnEndpoint(action, id, options)));
  withService(group.command("rotate"))
    .description("a new secret; both are valid for a while")
    .argument("<id>", "id of the endpoint")
    .option("--overlap <seconds>", "how long the old one is valid; default: a day", parseWhole)
    .action(async (id, options) => await exitWith((await endpoints()).rotateSecret(id, options)));
  withService(group.command("deliveries"))
    .description("the newest 50 deliveries with how their last tries ended")
    .argument("<id>", "id of the endpoint")
    .addOption(new Option("--state <state>", "only these").choices(["pending", "delivered", "dead"] as const))
    .option("--before <delivery>", "those before this one")
    .action(async (id, options) => await exitWith((await endpoints()).listDeliveries(id, options)));
}

function addOperatorCommands(group: AnyCommand): void {
  group
    .command("create")
    .description("make an endpoint for wallet.* and index.* events, print its secret")
    .argument("<receiver>", "the address that gets them; it may be private")
    .option("--types <list>", "names or beginnings, such as wallet,index.stalled")
    .option("--chains <list>", "names of chains")
    .option("--description <text>", "for whoever reads the list")
    .action(async (receiver, options) => await exitWith((await operator()).createOperatorEndpoint(receiver, options)));
  group
    .command("list")
    .description("all of them")
    .action(async () => await exitWith((await operator()).listOperatorEndpoints()));
  for (const [action, does] of [
    ["pause", "stop sending; events wait"],
    ["resume", "go on sending, also after it was disabled"],
    ["rotate", "a new secret; both are valid for a day"],
    ["test", "send a test event"],
    ["delete", "delete it with what waits for it"],
  ] as const)
    group
      .command(action)
      .description(does)
      .argument("<id>", "id of the endpoint")
      .action(async (id) => await exitWith((await operator()).actOnOperatorEndpoint(action, id)));
  group
    .command("deliveries")
    .description("the newest 50 deliveries with their tries")
    .argument("<id>", "id of the endpoint")
    .action(async (id) => await exitWith((await operator()).listOperatorDeliveries(id)));
}

function withFilter(command: AnyCommand) {
  return withService(command)
    .option("--types <list>", "names or beginnings, such as nft.transfer,deployment")
    .option("--chains <list>", "names of chains")
    .option("--contracts <list>", "addresses of contracts")
    .option("--accounts <list>", "senders or receivers of movements")
    .option("--token-ids <list>", "ids of tokens")
    .addOption(
      new Option("--finality <level>", "when a movement is told").choices(["latest", "safe", "finalized"] as const),
    );
}
