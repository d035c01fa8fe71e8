// @vitest-environment happy-dom
/** The contract of approvals, over React's own renderer in strict mode. */

import { useApprovals } from "../../src/react/index.js";
import { mount } from "../support/mount-react.js";
import { api } from "../support/setup.js";
import { approvalsContract } from "./approvals-suite.js";

approvalsContract("React", (client, first) =>
  mount(client, first, (given) => useApprovals({ api, ...given })),
);
