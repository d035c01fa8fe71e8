/** What the README's pieces take for granted: a client, an api, and what an app has around them. */

type Orders = readonly { readonly id: string; readonly title: string }[];
type Query<Args, Result> = import("ropewalk").QueryRef<Args, Result>;
type Mutation<Args, Result> = import("ropewalk").MutationRef<Args, Result>;
type Action<Args, Result> = import("ropewalk").ActionRef<Args, Result>;

declare const agents: typeof import("./api.gen").agents & {
  readonly planner: import("ropewalk").AgentRef<"planner", unknown, { readonly title: string }>;
  readonly triage: import("ropewalk").AgentRef<
    "triage",
    unknown,
    unknown,
    { readonly team: string }
  >;
};
declare const api: typeof import("./api.gen").api & {
  readonly orders: {
    readonly list: Query<{ customer?: string }, Orders>;
    readonly rename: Mutation<{ id: string; title: string }, null>;
    readonly sendInvoice: Action<{ id: string }, null>;
  };
};
declare const client: import("ropewalk").ChatClient;
declare const http: import("ropewalk").HttpClient;
declare const threadKey: string;
declare const getToken: () => Promise<string>;
declare const Chat: import("react").FunctionComponent<{ threadKey: string }>;
