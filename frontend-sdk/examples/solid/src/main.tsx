import { RopewalkProvider } from "ropewalk/solid";
import { render } from "solid-js/web";
import { App } from "./app.js";
import { client } from "./backend.js";
import "./style.css";

const root = document.getElementById("root");
if (root === null) throw new Error("there is no #root in the page");
render(
  () => (
    <RopewalkProvider client={client}>
      <App />
    </RopewalkProvider>
  ),
  root,
);
