import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Session } from "./session.js";
import "./styles/index.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <Session />
  </StrictMode>,
);
