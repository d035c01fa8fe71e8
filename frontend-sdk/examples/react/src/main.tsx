import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RopewalkProvider } from "ropewalk/react";
import { App } from "./app.js";
import { client } from "./backend.js";
import "./style.css";

const root = document.getElementById("root");
if (root === null) throw new Error("there is no #root in the page");
createRoot(root).render(
  <StrictMode>
    <RopewalkProvider client={client}>
      <App />
    </RopewalkProvider>
  </StrictMode>,
);
