import { mount } from "svelte";
import App from "./app.svelte";
import "./style.css";

const target = document.getElementById("root");
if (target === null) throw new Error("there is no #root in the page");
mount(App, { target });
