// Reads a file into the text field of its form. Knows no view.

for (const input of document.querySelectorAll("input[type=file][data-into]")) {
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (file) input.form.elements[input.dataset.into].value = await file.text();
  });
}
