import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RopewalkProvider } from "ropewalk/react";
import { client } from "./api.js";
import { Entrance } from "./entrance.js";
import "./styles/index.css";
import { ensureThreadKey } from "./use-thread-key.js";

ensureThreadKey();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <RopewalkProvider client={client}>
      <Entrance />
    </RopewalkProvider>
  </StrictMode>,
);
